export { delivery } from './delivery.js';
export { request } from './request.js';
