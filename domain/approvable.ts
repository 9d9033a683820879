import type { Pair, UserCaller } from './caller.js';
import { countsFor, tieToRequester } from './four-eyes.js';
import type { ApprovalStage, WorkflowPolicy } from './policies.js';
import { matchesSelector } from './selectors.js';

type Steps = Pick<WorkflowPolicy, 'steps' | 'allowSelfApprove' | 'allowSameApproverAcrossSteps'>;

/**
 * The first step, from 0, that these people could never complete, `together` if each alone but not all of them, else null (AV-10 to AV-13, HD-70).
 * `requester` null: whoever asks. Tokens may hold fewer roles than their users, so null promises nothing.
 */
export function shortStep(
  { steps, allowSelfApprove, allowSameApproverAcrossSteps }: Steps,
  pair: Pair,
  requester: string | null,
  people: readonly UserCaller[],
): number | 'together' | null {
  const mayApprove = (user: UserCaller, selector: string) =>
    matchesSelector(user, selector, pair) &&
    (allowSelfApprove ||
      requester === null ||
      (user.id !== requester && tieToRequester(user, requester) === null && countsFor(user, selector, requester)));
  const usersOf = (selector: string) => people.filter((user) => mayApprove(user, selector)).map(({ id }) => id);
  const ways = steps.map((step) => waysOf(step, usersOf));
  const short = ways.findIndex((slots) => !slots.some(fits));
  if (short !== -1) return short;
  const isEnough = allowSameApproverAcrossSteps || combined(ways).some(fits);
  return isEnough ? null : 'together';
}

/** A place for one approval: the users who could take it. */
type Slots = readonly (readonly string[])[];

/** The ways to complete a step: every entry, or any one of them. */
function waysOf({ mode, approvers }: ApprovalStage, usersOf: (selector: string) => string[]): Slots[] {
  const entries = approvers.map(({ selector, min }) => {
    const users = usersOf(selector);
    // One place more than there are users says as much as `min` places.
    return Array.from({ length: Math.min(min, users.length + 1) }, () => users);
  });
  return mode === 'any' ? entries : [entries.flat()];
}

/** Above this, ways to complete all steps are not tried one by one. */
const maxWays = 64;

/** One way for each step, in all combinations; a single way without places where there are too many to try. */
function combined(ways: readonly Slots[][]): Slots[] {
  const count = ways.reduce((product, { length }) => product * length, 1);
  if (count > maxWays) return [[]];
  return ways.reduce<Slots[]>((all, next) => all.flatMap((one) => next.map((way) => [...one, ...way])), [[]]);
}

/** Whether every place can be taken by a user of its own: paths that free a taken place, until none is left. */
function fits(slots: Slots): boolean {
  const taken = new Map<string, number>();
  const take = (place: number, tried: Set<string>): boolean =>
    (slots[place] ?? []).some((user) => {
      if (tried.has(user)) return false;
      tried.add(user);
      const held = taken.get(user);
      if (held !== undefined && !take(held, tried)) return false;
      taken.set(user, place);
      return true;
    });
  return slots.every((_, place) => take(place, new Set()));
}

/** The warning, without a name or a number: it tells no more than that the steps are stuck. */
export function shortText(
  { steps }: Pick<WorkflowPolicy, 'steps'>,
  short: number | 'together',
  requester: string | null,
): string {
  const besides = requester === null ? '' : ' besides you';
  if (short === 'together')
    return `nobody can approve all ${steps.length} steps as things are: they need more different users than match them${besides}`;
  const selectors = steps[short]?.approvers.map(({ selector }) => selector).join(', ') ?? '';
  return `nobody can approve step ${short + 1} of ${steps.length} as things are: too few active users match ${selectors}${besides}`;
}
