import { crc32, deflateRawSync } from "node:zlib";

/** An entry of a hand-made zip. Every header field can be made to lie. */
export interface ZipEntry {
  readonly name: string | Uint8Array;
  readonly data?: string | Uint8Array;
  /** Compressed data written as it is, whatever `data` says. */
  readonly rawData?: Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  readonly externalAttributes?: number;
  readonly checksum?: number;
  readonly declaredSize?: number;
  readonly declaredCompressedSize?: number;
  readonly localName?: string;
  readonly localOffset?: number;
  readonly extra?: Uint8Array;
}

export interface ZipOptions {
  readonly entryCount?: number;
  readonly directoryOffset?: number;
  readonly comment?: string;
  /** Adds zip64 records, with these values. */
  readonly zip64?: { readonly entryCount: bigint; readonly directoryOffset: bigint };
}

export const UTF8_FLAG = 0x800;
export const unixMode = (mode: number) => (mode << 16) >>> 0;

/** A zip archive, byte by byte: honest unless told otherwise. */
export function writeZip(entries: readonly ZipEntry[], options: ZipOptions = {}): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const data = Buffer.from(entry.data ?? "");
    const method = entry.method ?? 8;
    const raw = Buffer.from(entry.rawData ?? (method === 8 ? deflateRawSync(data) : data));
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(entry.flags ?? UTF8_FLAG, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(entry.checksum ?? crc32(data), 10);
    common.writeUInt32LE(entry.declaredCompressedSize ?? raw.length, 14);
    common.writeUInt32LE(entry.declaredSize ?? data.length, 18);
    const localName = Buffer.from(entry.localName ?? name);
    const local = Buffer.from(common);
    local.writeUInt16LE(localName.length, 22);
    locals.push(Buffer.from("PK\u0003\u0004", "latin1"), local, localName, raw);
    common.writeUInt16LE(name.length, 22);
    const extra = Buffer.from(entry.extra ?? []);
    common.writeUInt16LE(extra.length, 24);
    const tail = Buffer.alloc(14);
    const mode = name.at(-1) === 0x2f ? 0o040755 : 0o100644;
    tail.writeUInt32LE(entry.externalAttributes ?? unixMode(mode), 6);
    tail.writeUInt32LE(entry.localOffset ?? offset, 10);
    central.push(Buffer.from("PK\u0001\u0002\u001e\u0003", "latin1"), common, tail, name, extra);
    offset += 30 + localName.length + raw.length;
  }
  const directory = Buffer.concat(central);
  const comment = Buffer.from(options.comment ?? "");
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", "latin1");
  end.writeUInt16LE(options.entryCount ?? Math.min(entries.length, 0xffff), 8);
  end.writeUInt16LE(options.entryCount ?? Math.min(entries.length, 0xffff), 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(options.directoryOffset ?? offset, 16);
  end.writeUInt16LE(comment.length, 20);
  const zip64 = options.zip64 === undefined ? [] : zip64Records(options.zip64, offset + directory.length);
  return Buffer.concat([...locals, directory, ...zip64, end, comment]);
}

function zip64Records(values: NonNullable<ZipOptions["zip64"]>, offset: number): Buffer[] {
  const record = Buffer.alloc(56);
  record.write("PK\u0006\u0006", "latin1");
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(values.entryCount, 24);
  record.writeBigUInt64LE(values.entryCount, 32);
  record.writeBigUInt64LE(values.directoryOffset, 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\u0006\u0007", "latin1");
  locator.writeBigUInt64LE(BigInt(offset), 8);
  locator.writeUInt32LE(1, 16);
  return [record, locator];
}
