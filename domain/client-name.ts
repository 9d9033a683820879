const maxLength = 80;

/** What an MCP client calls itself, fit for an audit event and an approver's page: one line, `name version` (MC-44). */
export const clientName = (name: string, version: string): string =>
  [name, version].map(cleanName).filter(Boolean).join(' ') || 'unnamed';

/** At most 80 characters of a name, without any that hide or turn other text. */
export const cleanName = (text: string): string =>
  [
    ...text
      .slice(0, 1000)
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .trim(),
  ]
    .slice(0, maxLength)
    .join('')
    .trimEnd();
