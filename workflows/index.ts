export { auditAnchor } from './audit-anchor.js';
export { delivery } from './delivery.js';
export { request } from './request.js';
