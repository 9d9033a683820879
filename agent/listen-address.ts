export interface ListenAddress {
  host: string;
  port: number;
}

/** Reads `port`, `host:port` or `[address]:port`; without a host it is loopback. Null for anything else. */
export function readListen(text: string): ListenAddress | null {
  const parts = /^(?:(\[[\d.:A-Fa-f]+\]|[\w.-]+):)?(\d{1,5})$/.exec(text);
  if (!parts || Number(parts[2]) > 65_535) return null;
  return { host: (parts[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port: Number(parts[2]) };
}
