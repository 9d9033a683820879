/** Codes of the command line itself; every other code is the server's (cli.md section 4). */
export type LocalCode =
  | 'usage'
  | 'config_error'
  | 'auth_error'
  | 'network_error'
  | 'server_error'
  | 'confirmation_required'
  | 'pending_approval'
  | 'approved_pending_resume'
  | 'blocked'
  | 'not_ready'
  | 'not_found'
  | 'ambiguous'
  | 'already_approved'
  | 'rejected'
  | 'cancelled'
  | 'expired'
  | 'execution_lost'
  | 'execution_failed'
  | 'not_delivered'
  | 'timeout'
  | 'interrupted'
  | 'integrity_violation'
  | 'doctor_issues_found'
  | 'internal_error';

/** How an unsuccessful command ends: code, message, hint, exit code and `data` as JSON text (CL-12, cli.md section 4). */
export class CommandFailure extends Error {
  readonly code: string;
  readonly hint: string | null;
  /** The meaning of the server's code here, when it has several (HT-90). */
  readonly reason: string | null;
  readonly exit: number;
  readonly data: string;
  /** Text for people, printed on stdout in spite of the failure. */
  readonly human: (() => string) | null;
  /** The request that was made or followed, once it is known (CL-12). */
  requestId: string | undefined;

  constructor(
    code: string,
    message: string,
    options: { hint?: string | null; reason?: string | null; exit?: number; data?: string; human?: () => string } = {},
  ) {
    super(message);
    this.code = code;
    this.hint = options.hint ?? null;
    this.reason = options.reason ?? null;
    this.exit = options.exit ?? (exitCodes as Record<string, number>)[code] ?? 1;
    this.data = options.data ?? 'null';
    this.human = options.human ?? null;
  }
}

/** A failure of the command line itself; its code determines the exit code. */
export function failure(
  code: LocalCode,
  message: string,
  options: { hint?: string | null; exit?: number; data?: string } = {},
): CommandFailure {
  return new CommandFailure(code, message, options);
}

const exitCodes = {
  usage: 2,
  config_error: 1,
  auth_error: 1,
  network_error: 1,
  server_error: 1,
  confirmation_required: 1,
  pending_approval: 2,
  approved_pending_resume: 2,
  blocked: 1,
  not_ready: 1,
  not_found: 1,
  ambiguous: 1,
  already_approved: 1,
  rejected: 1,
  cancelled: 1,
  expired: 1,
  execution_lost: 1,
  execution_failed: 3,
  not_delivered: 1,
  timeout: 124,
  interrupted: 130,
  integrity_violation: 1,
  doctor_issues_found: 2,
  internal_error: 1,
} satisfies Record<LocalCode, number>;

/** Codes of calls of which no answer tells what became of them: the network, a proxy, or a server that fails, ends or has too much to do. */
export const noOutcome: readonly string[] = [
  'network_error',
  'server_error',
  'internal',
  'service.unavailable',
  'service.draining',
];
