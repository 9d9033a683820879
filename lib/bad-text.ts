/** Whether PostgreSQL cannot store the text: it holds U+0000 or an unpaired surrogate. */
export const isBadText = (text: string): boolean => /\0|\p{Surrogate}/u.test(text);
