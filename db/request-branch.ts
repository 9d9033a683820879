import type { Parameters } from './parameters.js';

/**
 * A condition on `requests r`. With `decidedBy`, a parameter with a user's id, it holds only for what that user has decided on: its requests are found by the
 * user's decisions, which have the order of lists. By way of all requests, those of a user who has not decided for long would take seconds.
 */
export interface Branch {
  where: string;
  decidedBy?: string;
}

/** Disjoint branches, built anew for each statement. A set of requests is their union. */
export type Branches = (p: Parameters) => Branch[];

/** Whether a user, by a parameter with their id, has approved or rejected the request, at any step. */
export const isDecidedBy = (user: string): string =>
  `exists (select 1 from decisions d where d.request_id = r.id and d.user_id = ${user})`;

/** Any of them, as one condition on `requests r`. */
export function anyOf(branches: readonly Branch[]): string {
  const conditions = branches.map(({ where, decidedBy }) =>
    decidedBy === undefined ? `(${where})` : `(${isDecidedBy(decidedBy)} and ${where})`,
  );
  return conditions.length === 0 ? 'false' : `(${conditions.join(' or ')})`;
}

export const narrowed = (branch: Branch, by: string): Branch => ({ ...branch, where: `${branch.where} and ${by}` });

/** `created_at` and `id` of the requests of a branch. A user may have decided on several steps of one. */
export const selectKeys = ({ where, decidedBy }: Branch): string =>
  decidedBy === undefined
    ? `select r.created_at, r.id from requests r where ${where}`
    : `select distinct d.request_created_at as created_at, d.request_id as id from decisions d join requests r on r.id = d.request_id
       where d.user_id = ${decidedBy} and ${where}`;

/** The order of a list (HT-82). */
export const newestFirst = 'order by created_at desc, id desc';

/** The selects of branches, of which no two have a request in common. */
export const unionOf = (selects: readonly string[]) =>
  selects.length === 1 ? selects.join() : selects.map((one) => `(${one})`).join(' union all ');
