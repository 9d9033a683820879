/** Waiting polls of one token in this process, oldest first (AG-24). */
export type WaitingPolls = Map<string, (() => void)[]>;

const maxWaitingPolls = 4;

/** A token's fifth waiting poll ends its oldest, which answers with empty lists. */
export function takePlace(waiting: WaitingPolls, agentId: string, end: () => void): () => void {
  const places = waiting.get(agentId) ?? [];
  waiting.set(agentId, places);
  places.push(end);
  if (places.length > maxWaitingPolls) places.shift()?.();
  return () => {
    const place = places.indexOf(end);
    if (place >= 0) places.splice(place, 1);
    if (places.length === 0 && waiting.get(agentId) === places) waiting.delete(agentId);
  };
}
