import type { Outgoing } from '../domain/notifications/outgoing.js';
import { topic } from './notifications.js';
import type { Parameters } from './parameters.js';
import { cardNewsRows, cardsInsert } from './slack-cards.js';
import { deliveriesInsert, deliveryRows } from './webhook-deliveries.js';

/**
 * Parts of a larger statement, with the topics to notify after its commit; none where nothing goes out. Their texts are the same however much goes out, so that
 * statements stay few. Nothing is written unless `guard`, a part before them, has a row.
 */
export function outgoingInsert(
  p: Parameters,
  { deliveries, cards }: Outgoing,
  guard: string,
): { parts: string[]; topics: string[] } {
  const told: { parts: string[]; topics: string[] } = { parts: [], topics: [] };
  if (deliveries.length > 0) {
    told.parts.push(deliveriesInsert(p.add(deliveryRows(deliveries)), guard));
    told.topics.push(topic.deliveries);
  }
  if (cards.length > 0) {
    told.parts.push(cardsInsert(p.add(cardNewsRows(cards)), guard));
    told.topics.push(topic.cards);
  }
  return told;
}

/** Of two changes of a request that are written together; null if both ask for cards, which one statement writes once. */
export function together(first: Outgoing, second: Outgoing): Outgoing | null {
  if (first.cards.length > 0 && second.cards.length > 0) return null;
  return { deliveries: [...first.deliveries, ...second.deliveries], cards: [...first.cards, ...second.cards] };
}

/** Of several changes, all of which yield to other news (OP-72). */
export const yielding = (several: readonly Outgoing[]): Outgoing => ({
  deliveries: several.flatMap(({ deliveries }) => deliveries.map((one) => ({ ...one, yields: true }))),
  cards: several.flatMap(({ cards }) => cards.map((one) => ({ ...one, yields: true }))),
});
