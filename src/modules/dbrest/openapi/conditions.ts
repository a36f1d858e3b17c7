import { ERROR } from './components.ts';
import { type JsonSchema, reference } from './json-schema.ts';

/** Which conditional requests an API takes. */
interface ConditionFacts {
  /** Reads have an `ETag`. */
  readonly hasTags: boolean;
  /** Rows have versions, so that writes take `If-Match`. */
  readonly hasVersions: boolean;
}

/** The headers as shared parameters. */
export const CONDITION_PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  ifMatch: tags('If-Match', 'Versions of the rows, for example `"3"`, or `*`; otherwise the response is 412'),
  ifNoneMatch: tags('If-None-Match', 'Entity tags that the client has; with one of them the response is 304'),
  ifAbsent: tags('If-None-Match', '`*`: creates a row only; if it is there, the response is 412'),
};

function tags(name: string, description: string): JsonSchema {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

const NOT_MODIFIED: JsonSchema = { 304: { description: 'Not Modified' } };
const FAILED: JsonSchema = { 412: ERROR };

/** Adds conditions to the operations of a path. */
export function withConditions(path: JsonSchema, { hasTags, hasVersions }: ConditionFacts): JsonSchema {
  const added: Readonly<Record<string, readonly [parameters: readonly string[], responses: JsonSchema]>> = {
    ...(hasTags && { get: [['ifNoneMatch', 'ifMatch'], { ...NOT_MODIFIED, ...FAILED }] }),
    ...(hasVersions && {
      put: [['ifMatch', 'ifAbsent'], FAILED],
      patch: [['ifMatch'], FAILED],
      delete: [['ifMatch'], FAILED],
    }),
  };
  const operations = Object.entries(path).map(([method, operation]) => {
    const more = added[method];
    return [method, more ? withMore(operation as Operation, more) : operation] as const;
  });
  return Object.fromEntries(operations);
}

interface Operation {
  readonly parameters?: readonly JsonSchema[];
  readonly responses?: JsonSchema;
}

function withMore(
  operation: Operation,
  [names, responses]: readonly [parameters: readonly string[], responses: JsonSchema],
): JsonSchema {
  const parameters = [...(operation.parameters ?? []), ...names.map((name) => reference('parameters', name))];
  return { ...operation, parameters, responses: { ...operation.responses, ...responses } };
}
