import { answer, api } from '../../http/client.js';
import { me } from '../../state/session.js';

export interface Draft {
  database: string;
  environment: string;
  sql: string;
  reason: string;
  share: string;
}

/** Somebody else may sign in in the same window. */
const key = () => `svc.draft ${me()}`;
const none: Draft = { database: '', environment: '', sql: '', reason: '', share: '' };

/** Kept until the window is closed, so that a reload loses nothing; never in localStorage. */
export function keptDraft(): Draft {
  try {
    return { ...none, ...(JSON.parse(sessionStorage.getItem(key()) ?? '{}') as Partial<Draft>) };
  } catch {
    return none;
  }
}

export function keepDraft(draft: Draft): void {
  try {
    sessionStorage.setItem(key(), JSON.stringify(draft));
  } catch {
    // Too large for the browser, and so for a request.
  }
}

export const dropDraft = () => sessionStorage.removeItem(key());

/** The text of an earlier request, to be asked again. */
export async function draftFrom(id: string): Promise<Draft> {
  const { database, environment, detail, reason, share_with } = await answer(
    api.GET('/api/requests/{id}', { params: { path: { id } } }),
  );
  return { database, environment, sql: detail, reason: reason ?? '', share: share_with.join(', ') };
}

/** `alice, group:dba-team` as a list. */
export const sharedWith = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .slice(0, 100);
