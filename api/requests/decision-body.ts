import { z } from 'zod';
import { note } from './creation-body.js';

const selector = z
  .string()
  .nullish()
  .transform((text) => text ?? null);

/** The bodies of `POST /api/requests/{id}/…`. */
export const approval = z.object({ comment: note, selector });
export const rejection = z.object({ comment: note });
export const cancellation = z.object({ reason: note });
export const resumption = z.object({ reason: note });
