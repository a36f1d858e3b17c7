import { ERROR } from './components.ts';
import type { JsonSchema } from './json-schema.ts';

const ITEM: JsonSchema = {
  type: 'object',
  required: ['path'],
  additionalProperties: false,
  properties: {
    method: {
      type: 'string',
      enum: ['GET', 'HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE'],
      default: 'GET',
    },
    path: { type: 'string', description: 'Path and query below this API, for example `/items?id=eq.1`' },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    body: { description: 'JSON, or a text for another Content-Type' },
  },
};

const RESPONSE: JsonSchema = {
  type: 'object',
  required: ['status', 'headers'],
  properties: {
    status: { type: 'integer' },
    headers: { type: 'object' },
    body: { description: 'JSON, or a text for another Content-Type; absent if there is none' },
    encoding: { type: 'string', enum: ['base64'] },
  },
};

/** The operation of batches. */
export const BATCH_PATH: JsonSchema = {
  post: {
    tags: ['Batches'],
    summary: 'Runs requests in one transaction: all of them, or none',
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { type: 'array', items: ITEM } } },
    },
    responses: {
      200: {
        description: 'The responses, in the order of the requests',
        content: { 'application/json': { schema: { type: 'array', items: RESPONSE } } },
      },
      default: ERROR,
    },
  },
};
