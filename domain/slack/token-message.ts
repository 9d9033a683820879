import { markup, type SlackMessage } from './blocks.js';
import { codeSpan, plainLine } from './text.js';

const idLimit = 128;

/** The direct message with an initial token (SL-46). Its `text`, which notifications show on locked screens, is without the token. */
export function tokenMessage({ userId, token }: { userId: string; token: string }): SlackMessage {
  const told = `Your token for the gateway as user ${codeSpan(userId, idLimit)}. It is shown only here: keep it where others cannot read it.`;
  return {
    text: `Your token for the gateway as user ${plainLine(userId, idLimit)}`,
    blocks: [
      { type: 'section', text: markup(told) },
      { type: 'section', text: markup(`\`\`\`${token}\`\`\``) },
    ],
  };
}

/** What the approver is told if the token did not arrive, or may not have. */
export const notDelivered = (userId: string): string =>
  `The token of ${plainLine(userId, idLimit)} could not be delivered. Issue a new one: ${codeSpan(`svc user reissue-initial-token ${userId}`, 2 * idLimit)}`;
