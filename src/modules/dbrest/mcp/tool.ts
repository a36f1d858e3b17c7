import type { InnerRequest } from '../request/index.ts';
import type { JsonSchema } from '../openapi/index.ts';
import type { Rights, Schema } from '../schema/index.ts';

/** The input for the tools of a role. */
export interface ToolContext {
  readonly known: Schema;
  readonly rights: Rights;
  /** `dbrest_schemas`; the first is the default. */
  readonly schemas: readonly string[];
  readonly writes: boolean;
  /** New rows may have rows of related tables in them. */
  readonly nests: boolean;
  /** Most rows that one call reads. */
  readonly mostRows: number;
  /** The path before the name of a function; absent if the location serves no functions. */
  readonly functionPath: string | undefined;
}

/** The effect of calling a tool: a request to the database, or a result at once. */
export type ToolCall =
  | {
      readonly kind: 'request';
      readonly request: InnerRequest;
      /** It must not write. */
      readonly readOnly: boolean;
      /** The member of the result that has the body of the response. */
      readonly member: 'rows' | 'result';
    }
  | { readonly kind: 'result'; readonly json: string };

/** A tool of the Model Context Protocol. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint: false;
  };
  /** Reads the arguments. Throws a `DbrestFault` for the client of the tool. */
  readonly call: (json: Buffer | undefined, context: ToolContext) => ToolCall;
}

export const READS = { readOnlyHint: true, destructiveHint: false, openWorldHint: false } as const;
export const ADDS = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const;
export const CHANGES = { readOnlyHint: false, destructiveHint: true, openWorldHint: false } as const;

/** A request with JSON, for one of the served schemas. */
export function requestFor(
  method: string,
  path: string,
  {
    schema,
    parameters = [],
    prefer,
    body,
  }: {
    readonly schema: string;
    readonly parameters?: readonly string[];
    readonly prefer?: string | undefined;
    readonly body?: Buffer | undefined;
  },
): InnerRequest {
  const profile = method === 'GET' ? 'accept-profile' : 'content-profile';
  const headers = [
    'accept',
    'application/json',
    profile,
    schema,
    ...(prefer === undefined ? [] : ['prefer', prefer]),
    ...(body ? ['content-type', 'application/json'] : []),
  ];
  const args = parameters.join('&');
  return { method, path, rawPath: encodeURI(path), args, headers, body: body ?? NOTHING };
}

const NOTHING = Buffer.alloc(0);
