import { answer, api } from '../../http/client.js';
import { me } from '../../state/session.js';

export interface Draft {
  /** The request that is asked again, in a draft of its own: it does not take the place of what else is being written. */
  from?: string;
  database: string;
  environment: string;
  sql: string;
  reason: string;
  share: string;
  require_approval: boolean;
  no_result_store: boolean;
}

/** Somebody else may sign in in the same window. Of what is asked again only the last draft is kept. */
const key = (from?: string) => `svc.${from === undefined ? 'draft' : 'again'} ${me()}`;
const none: Draft = {
  database: '',
  environment: '',
  sql: '',
  reason: '',
  share: '',
  require_approval: false,
  no_result_store: false,
};

/** Kept until the window is closed, so that a reload loses nothing; never in localStorage. Null if there is none. */
function keptDraft(from?: string): Draft | null {
  try {
    const kept = { ...none, ...(JSON.parse(sessionStorage.getItem(key(from)) ?? '') as Partial<Draft>) };
    return kept.from === from ? kept : null;
  } catch {
    return null;
  }
}

export const keepDraft = (draft: Draft) => keep(key(draft.from), draft);

function keep(name: string, value: unknown): void {
  try {
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Too large for the browser, and so for a request.
  }
}

export function dropDraft(draft: Draft): void {
  sessionStorage.removeItem(key(draft.from));
  sessionStorage.removeItem(sentKey());
}

const sentKey = () => `svc.sent ${me()}`;

/** The idempotency key of what is about to be sent. The same content has the same one until it is answered, also after a reload: it makes one request (RQ-32). */
export function keyToSend(content: string): string {
  try {
    const [before, key] = JSON.parse(sessionStorage.getItem(sentKey()) ?? '[]') as string[];
    if (before === content && key !== undefined) return key;
  } catch {
    // Not written by this page.
  }
  const made = crypto.randomUUID();
  keep(sentKey(), [content, made]);
  return made;
}

/** What was being written; without a draft the earlier request `from`, to be asked again, or nothing. */
export async function draftOf(from?: string): Promise<Draft> {
  const kept = keptDraft(from);
  if (kept !== null || from === undefined) return kept ?? none;
  const { database, environment, detail, reason, share_with, require_approval, no_result_store } = await answer(
    api.GET('/api/requests/{id}', { params: { path: { id: from } } }),
  );
  const share = share_with.join(', ');
  return { from, database, environment, sql: detail, reason: reason ?? '', share, require_approval, no_result_store };
}

/** `alice, group:dba-team` as a list. */
export const sharedWith = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .slice(0, 100);
