export { auditAnchor } from './audit-anchor.js';
export { delivery } from './delivery.js';
export { onboarding } from './onboarding.js';
export { request } from './request.js';
export { slackCard } from './slack-card.js';
