/** An answer that is not the one that was asked for, in the server's own words. */
export class Refused extends Error {
  readonly status: number;
  readonly hint: string | null;
  readonly reason: string | null;

  constructor(status: number, { error, hint, reason }: Body) {
    super(error ?? `the server answered ${status}`);
    this.status = status;
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
  hint?: string | null;
  reason?: string;
}

/** What helps against a refusal to which the server adds nothing of its own. */
const advice: Readonly<Record<number, string>> = {
  404: 'the address may be wrong, or what it names was removed',
  409: 'look at how it stands now before you go on',
  410: 'make a new request',
  413: 'make the text shorter',
  500: 'try again, or tell whoever runs the gateway',
};

/** `retryAfter` is the header of the answer. A proxy before the server answers with any body. */
export function refusedBy(status: number, body: unknown, retryAfter: string | null = null): Refused {
  const told = typeof body === 'object' && body !== null ? (body as Body) : {};
  const wait = /^\d{1,6}$/.test(retryAfter ?? '') ? `try again in ${retryAfter} s` : null;
  return new Refused(status, { ...told, hint: told.hint ?? wait ?? advice[status] ?? null });
}
