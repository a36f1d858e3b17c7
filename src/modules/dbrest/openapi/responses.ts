import { reference } from './names.ts';
import type { JsonSchema } from './type-schema.ts';

/** Name of the component below; no table has it, for the dot. */
const ERROR_NAME = 'any.error';

/** Whatever goes wrong. */
export const ERROR: JsonSchema = reference('responses', ERROR_NAME);
export const NO_CONTENT: JsonSchema = { description: 'No Content' };

const NULLABLE_TEXT = { type: ['string', 'null'] };

/** Answers that all operations share, by the names of their components. */
export const SHARED_RESPONSES: Readonly<Record<string, JsonSchema>> = {
  [ERROR_NAME]: {
    description: 'Error',
    headers: { 'Proxy-Status': { description: 'The code of the error', schema: { type: 'string' } } },
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            code: { type: 'string' },
            details: { type: ['string', 'array', 'null'] },
            hint: NULLABLE_TEXT,
            message: { type: 'string' },
          },
        },
      },
    },
  },
};
