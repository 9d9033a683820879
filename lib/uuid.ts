/** The form of our ids (HT-70), as a piece of a pattern. */
export const uuidPattern = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

const whole = new RegExp(`^${uuidPattern}$`);

/** Whether the text can be an id. Any other text names nothing (HT-61). */
export const isUuid = (text: string): boolean => whole.test(text);
