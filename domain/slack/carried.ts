/**
 * What a modal carries to its submission: the request, and where that was when it was shown, which is the step that waits for approval or the fence of the
 * last run. A submission asks for nothing beyond it (RQ-58, RQ-88).
 */
export const carried = (id: string, shownAt: number): string => `${id} ${shownAt}`;

/** What a modal carried. Where it does not say at what it was shown, that is null, and not compared. */
export function carriedIn(metadata: string): { id: string; shownAt: number | null } {
  const [, id, shownAt] = /^(\S+) (\d{1,9})$/.exec(metadata) ?? [];
  return id === undefined ? { id: metadata, shownAt: null } : { id, shownAt: Number(shownAt) };
}
