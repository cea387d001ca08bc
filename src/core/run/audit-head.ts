/** The head of an audit log's hash chain: how many lines there are, and the SHA-256 of the last one. */
export interface AuditHead {
  readonly lines: number;
  readonly sha256: string;
}
