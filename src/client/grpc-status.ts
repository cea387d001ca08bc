/* Statuses of gRPC, as its documentation numbers them. Temporal's client gives them as they are. */

export const CANCELLED = 1;
export const INVALID_ARGUMENT = 3;
export const DEADLINE_EXCEEDED = 4;
export const NOT_FOUND = 5;
export const PERMISSION_DENIED = 7;
export const RESOURCE_EXHAUSTED = 8;
export const UNIMPLEMENTED = 12;
export const UNAVAILABLE = 14;
export const UNAUTHENTICATED = 16;
