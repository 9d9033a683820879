/** One block of a stream (MC-22); `data` is null in the block that opens it. */
interface StreamEvent {
  id: string | null;
  data: string | null;
}

/** Far above the longest result of a tool (MC-45) and what the server keeps of a stream (MC-23). */
export const maxEventBytes = 32 * 1024 * 1024;

/** Reads server-sent events as their bytes arrive. What is not a whole block when a connection breaks is forgotten: the resumed stream has it again. */
export class EventReader {
  private parts: Buffer[] = [];
  private length = 0;
  private id: string | null = null;
  private data: string[] = [];

  /** The events that the bytes complete. Throws RangeError when one is too long. */
  feed(part: Uint8Array): StreamEvent[] {
    const found: StreamEvent[] = [];
    let rest = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.keep(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      const event = this.line(
        Buffer.concat(this.parts as unknown as Uint8Array[])
          .toString('utf8')
          .replace(/\r$/, ''),
      );
      this.parts = [];
      if (event !== null) found.push(event);
    }
    // The part belongs to the connection, which may use its memory again.
    if (rest.length > 0) this.keep(Buffer.from(Uint8Array.from(rest)));
    return found;
  }

  private keep(part: Buffer): void {
    this.length += part.length;
    if (this.length > maxEventBytes) throw new RangeError('an event of the server is too long');
    this.parts.push(part);
  }

  private line(text: string): StreamEvent | null {
    const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(text) ?? [];
    if (name === 'id') this.id = value;
    if (name === 'data') this.data.push(value);
    if (text !== '') return null;
    const event = { id: this.id, data: this.data.length === 0 ? null : this.data.join(' ') };
    this.id = null;
    this.data = [];
    this.length = 0;
    return event.id === null && event.data === null ? null : event;
  }
}
