import { expect } from 'vitest';
import type { Answer } from '../support/api.js';
import { untilTaken } from './gateway-calls.js';

export type RivalAnswer = Answer & { isUnsure: boolean };

export const ofEach = <Told extends Answer>(answers: Told[], status: number) =>
  answers.filter((answer) => answer.status === status);

/** The last answer, and whether a 503 came before: that does not tell whether the write was made (HT-114), so the last answer may be a conflict with it. */
export async function ask(act: () => Promise<Answer>): Promise<RivalAnswer> {
  let isUnsure = false;
  const answer = await untilTaken(async () => {
    const told = await act();
    isUnsure ||= told.status === 503;
    return told;
  });
  return { ...answer, isUnsure };
}

/** Exactly one was told that it made the move (none if somebody repeated a 503); all others, that it was made already. */
export function expectOneWinner(answers: RivalAnswer[], conflict: string): void {
  const won = ofEach(answers, 200).length;
  if (!(won === 0 && answers.some(({ isUnsure }) => isUnsure))) expect(won).toBe(1);
  expect(ofEach(answers, 409)).toHaveLength(answers.length - won);
  for (const { body } of ofEach(answers, 409)) expect(body.error).toContain(conflict);
}
