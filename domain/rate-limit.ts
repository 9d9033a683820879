/** The length of every window (OP-31). */
export const windowMs = 60_000;

export type LimitKind = 'token' | 'address' | 'auth' | 'preflight';

/** Calls that are counted together, and how many of them may pass per window. */
export interface Limit {
  kind: LimitKind;
  /** Whose calls these are: a token's id, an address or a user. */
  subject: string;
  perWindow: number;
}

export interface LimitVerdict {
  passes: boolean;
  perWindow: number;
  remaining: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

const largestBlock = 500;

/**
 * How many calls a process takes out of a shared window at a time (OP-34): a fiftieth of the limit, so that enough is left for other processes, and
 * at most 500. A small limit is counted call by call.
 */
export function blockOf(perWindow: number): number {
  return Math.min(largestBlock, Math.max(1, Math.floor(perWindow / 50)));
}

/** How many of `amount` calls may pass when `taken` calls of the window, including these, have been given out (OP-I2). */
export function grantedOf(perWindow: number, amount: number, taken: number): number {
  return Math.max(0, Math.min(amount, perWindow - (taken - amount)));
}

/** The stricter verdict: a refusal, else the fewest calls left (OP-32). */
export function tighter(one: LimitVerdict | null, other: LimitVerdict): LimitVerdict {
  if (one === null) return other;
  if (one.passes !== other.passes) return one.passes ? other : one;
  return other.remaining < one.remaining ? other : one;
}

/** The form in which an address is counted (OP-31): an IPv4 address itself, an IPv6 address as its canonical /64. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}
