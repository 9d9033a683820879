export type CheckStatus = 'pass' | 'warn' | 'fail' | 'skip';

/** One thing that `svc doctor` has looked at (CL-45). */
export interface Check {
  id: string;
  status: CheckStatus;
  message: string;
  hint: string | null;
  details: Readonly<Record<string, unknown>> | null;
}

export type Finding = Omit<Check, 'id'>;

/** A check to make. It is skipped when one of `needs` has failed or was skipped itself. */
export interface PlannedCheck {
  id: string;
  needs?: readonly string[];
  look: () => Finding | Promise<Finding>;
}

const finding =
  (status: CheckStatus) =>
  (message: string, { hint = null, details = null }: Partial<Finding> = {}): Finding => ({ status, message, hint, details });

export const passed = finding('pass');
export const warned = finding('warn');
export const failed = finding('fail');
export const skipped = finding('skip');

/** Makes the checks in their order, one after the other. A check that throws has failed; `explain` words its error. */
export async function makeChecks(plan: readonly PlannedCheck[], explain: (error: unknown) => Finding): Promise<Check[]> {
  const made: Check[] = [];
  for (const { id, needs = [], look } of plan) {
    const missing = needs.find((need) => made.some((one) => one.id === need && (one.status === 'fail' || one.status === 'skip')));
    const found = missing === undefined ? await Promise.resolve().then(look).catch(explain) : skipped(`needs ${missing}`);
    made.push({ id, ...found });
  }
  return made;
}

export function summaryOf(checks: readonly Check[]) {
  const count = (status: CheckStatus) => checks.filter((check) => check.status === status).length;
  return { passed: count('pass'), warnings: count('warn'), failed: count('fail'), skipped: count('skip') };
}
