const HEADER_BYTES = 4;
/** A packet of exactly this length continues in the next one. */
const CONTINUED = 0xffffff;
/** Column descriptions and errors are packets too; none is larger than this. */
const MIN_LIMIT_BYTES = 65_536;

/**
 * Tracks packet lengths in a stream: three bytes of length, one of sequence number, then the content. Returns false when a packet
 * with its continuations exceeds `maxBytes`, so that it need not be buffered (AP-72). Do not call it again after false.
 */
export function packetMeter(maxBytes: number): (chunk: Uint8Array) => boolean {
  const limit = Math.max(maxBytes, MIN_LIMIT_BYTES);
  const header: number[] = [];
  let left = 0;
  let whole = 0;
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const step = Math.min(left, chunk.length - at);
        left -= step;
        at += step;
        continue;
      }
      header.push(chunk[at++] as number);
      if (header.length < HEADER_BYTES) continue;
      const [low = 0, middle = 0, high = 0] = header.splice(0);
      left = low + middle * 0x100 + high * 0x10000;
      whole += left;
      if (whole > limit) return false;
      if (left < CONTINUED) whole = 0;
    }
    return true;
  };
}
