/** An answer that is not the one that was asked for, in the server's own words. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;
  readonly reason: string | null;

  constructor(status: number, { error, code, hint, reason }: Body) {
    super(error ?? `the server answered ${status}`);
    this.status = status;
    this.code = code ?? '';
    this.hint = hint ?? null;
    this.reason = reason ?? null;
  }
}

/** No answer came: the server is away, or the network is. */
export class Unreachable extends Error {
  constructor() {
    super('The server does not answer.');
  }
}

interface Body {
  error?: string;
  code?: string;
  hint?: string | null;
  reason?: string;
}

/** A proxy before the server answers with anything. */
export function refusedBy(status: number, body: unknown): Refused {
  return new Refused(status, typeof body === 'object' && body !== null ? (body as Body) : {});
}
