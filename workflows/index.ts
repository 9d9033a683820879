export { request } from './request.js';
