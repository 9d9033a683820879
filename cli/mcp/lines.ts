import type { Readable } from 'node:stream';

/** A line of the client's, without its end; or why it is none that can be read. */
export type Line = { text: string } | { problem: string };

/** The server takes no longer messages (MC-1: 413). */
const maxLineBytes = 2 * 1024 * 1024;

/**
 * The lines of a stream. A line that is too long is passed over as it comes, and not kept. Reads no further while a line is worked on. Ends when the
 * signal aborts.
 */
export async function* readLines(input: Readable, signal: AbortSignal): AsyncGenerator<Line> {
  const stop = () => void input.destroy();
  signal.addEventListener('abort', stop, { once: true });
  const line = new LineBuffer();
  try {
    if (signal.aborted) return;
    for await (const chunk of input) {
      let rest = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        line.add(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        const whole = line.take();
        if (whole !== null) yield whole;
      }
      line.add(rest);
    }
    const last = line.take();
    if (last !== null) yield last;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

class LineBuffer {
  private parts: Buffer[] = [];
  private length = 0;

  add(part: Buffer): void {
    this.length += part.length;
    if (this.length > maxLineBytes) this.parts = [];
    else if (part.length > 0) this.parts.push(part);
  }

  /** The line so far; null if it is empty. */
  take(): Line | null {
    const { parts, length } = this;
    this.parts = [];
    this.length = 0;
    if (length > maxLineBytes) return { problem: `a message has at most ${maxLineBytes} bytes` };
    const text = decode(Buffer.concat(parts as unknown as Uint8Array[]));
    if (text === null) return { problem: 'a message must be UTF-8' };
    return text.trim() === '' ? null : { text };
  }
}

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}
