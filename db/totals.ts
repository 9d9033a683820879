/** How many items of a changing set are counted one by one (HT-83). What is more than that is estimated. */
export const mostCounted = 10_000;

export interface Counted {
  total: number;
  isEstimate: boolean;
}

/** A total that was counted before the page was read: what the page shows counts too. */
export const totalCounted = (counted: number, { offset }: { offset: number }, shown: number): Counted => ({
  total: shown > 0 ? Math.max(counted, offset + shown) : counted,
  isEstimate: false,
});

/** The total of a list with more than `mostCounted` items: the estimate, corrected by what the page has shown. */
export function totalBy(estimated: number, { limit, offset }: { limit: number; offset: number }, shown: number): Counted {
  // The page ended before its limit: it holds the last item.
  if (shown > 0 && shown < limit) return { total: offset + shown, isEstimate: false };
  const least = Math.max(mostCounted + 1, shown > 0 ? offset + shown : 0);
  const most = shown === 0 && limit > 0 ? Math.max(offset, least) : Number.POSITIVE_INFINITY;
  return { total: Math.min(Math.max(Math.round(estimated), least), most), isEstimate: true };
}
