const HEADER_BYTES = 4;
/** A packet of exactly this length is continued by the next one. */
const CONTINUED = 0xffffff;
/** Descriptions of columns and errors are packets too, and never larger. */
const MIN_LIMIT_BYTES = 65_536;

/**
 * Follows the lengths of the packets of a stream: three bytes of length, one of order, the content. False when a packet with its
 * continuations is larger than `maxBytes`, so that it need not be gathered (AP-72); nothing may be given after that.
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
