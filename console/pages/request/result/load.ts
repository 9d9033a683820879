import { readJson } from '../../../../lib/json/read.js';
import { type ResultView, viewResult } from '../../../../lib/result-view.js';
import { refusal, send } from '../../../http/client.js';

export interface StoredResult {
  errorMessage: string | null;
  view: ResultView;
  /** The types of the columns as the database calls them; empty where they are not known. */
  types: string[];
  bytes: number;
  /** What is no table, as JSON. */
  other: string | null;
}

/** The stored result of an attempt. Numbers keep all their digits: the text is never parsed into JavaScript's. */
export async function loadResult(id: string, executionId: string, signal: AbortSignal): Promise<StoredResult> {
  const query = new URLSearchParams({ execution_id: executionId });
  const response = await send(`/api/requests/${encodeURIComponent(id)}/result/content?${query}`, { signal });
  if (!response.ok) throw await refusal(response);
  const text = await response.text();
  const envelope = readJson(text);
  const view = viewResult(envelope);
  const types = view.data?.get('column_types')?.items() ?? [];
  const isOther =
    view.rows === null && view.data !== null && view.data.kind === 'object' && view.data.get('rows_affected') === undefined;
  return {
    errorMessage: envelope.get('error_message')?.string() ?? null,
    view,
    types: types.map((type) => type.string() ?? ''),
    bytes: text.length,
    other: isOther ? (view.data?.text ?? null) : null,
  };
}
