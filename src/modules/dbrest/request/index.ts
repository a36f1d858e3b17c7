import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { ServerFeatures } from '../schema/index.ts';
import { receiveBody } from './header-fields.ts';
import {
  type CallInput,
  type CallRequest,
  callWith,
  parseCall,
  parseCallBody,
  type ParsedCall,
} from './call.ts';
import {
  type DescribeRequest,
  honouredHead,
  type OptionsRequest,
  parseDescribe,
  type RequestHead,
} from './head.ts';
import { parseRead, type QuerySource, type ReadRequest } from './query.ts';
import { parseWrite, type ParsedWrite, readWritten, type WriteRequest, type WrittenBody } from './write.ts';

export {
  argsOf,
  bodyLimitOf,
  methodOf,
  QUERY,
  QUERY_TYPE,
  JSON_TYPE,
  receiveBody,
  type ReceivedBody,
  parseIfMatch,
  hasCondition,
  isBodyless,
  type Precondition,
  taggedVersion,
  versionIn,
  appliedPreferences,
  type CountKind,
  honoured,
  NO_PREFERENCES,
  only,
  parsePreferences,
  type Preference,
  preferredTimeMs,
  type Preferences,
} from './header-fields.ts';
export { type CallInput, type CallRequest, parseCallBody } from './call.ts';
export {
  type DescribeRequest,
  type OptionsRequest,
  TYPES_MEDIA,
  batchPath,
  chooseSchema,
  compileHead,
  functionPath,
  mcpPath,
  needsFeatures,
  type RequestHead,
  type Resource,
  rowLimitOf,
  rowRange,
  type RowRange,
} from './head.ts';
export { BINARY_OPERATORS, isOperation, parseListText, refuseSearch, SEARCH_OPERATORS } from './filter.ts';
export { scanJson } from './json-scan.ts';
export {
  acceptedMedia,
  chooseMedia,
  customMedia,
  isAny,
  isAsked,
  type Media,
  type RowHandler,
} from './media.ts';
export { DEEPEST_ROWS, type NestedMembers, type NestedRows } from './nested-rows.ts';
export {
  boundText,
  decodePiece,
  GRAMMAR,
  isGrouping,
  parametersOf,
  parseReadQuery,
  sortedQuery,
  type ReadRequest,
} from './query.ts';
export {
  type Aggregate,
  type Aggregated,
  AGGREGATES,
  type Comparison,
  type Field,
  type Filter,
  type GroupLogic,
  type JsonStep,
  type Level,
  type Logic,
  type Operand,
  type OrderKey,
  type OrderTerm,
  type ReadQuery,
  type SelectedColumn,
  type SelectedCount,
  type SelectedEmbed,
  type SelectItem,
  type Truth,
  type TypeName,
} from './tree.ts';
export {
  ANY_CONSTRAINT,
  readWritten,
  type WriteMethod,
  type WriteQuery,
  type WriteRequest,
  type WrittenBody,
} from './write.ts';
export {
  checkServedHere,
  innerExchange,
  type InnerRequest,
  KeptBody,
  KeptResponse,
  shownBaseOf,
} from './inner-request.ts';

/** A parsed request. Its names have not been looked up yet. */
export type Request = ReadRequest | WriteRequest | CallRequest | DescribeRequest | OptionsRequest;

/** A request whose body has not been read. */
export type ParsedHead = ReadRequest | ParsedWrite | ParsedCall | DescribeRequest | OptionsRequest;

/**
 * Compiles the parser of the query of a request. `features` are present if the head needs them. Throws a `DbrestFault`.
 */
export function compileQuery(
  config: DbrestConfig,
): (
  x: Exchange,
  head: RequestHead,
  source: QuerySource & { readonly features?: ServerFeatures | undefined },
) => ParsedHead {
  const mayChooseEnd = config.txEnd.endsWith('-allow-override');
  return (x, asked, source) => {
    const head = honouredHead(asked, source.features, mayChooseEnd);
    switch (head.kind) {
      case 'read':
        return parseRead(head, source, config);
      case 'write':
        return parseWrite(head, source.args, config);
      case 'call':
        return parseCall(head, source, config);
      case 'describe':
        return parseDescribe(x, head, config.openapiVersion);
      case 'options':
        return { kind: 'options', head };
    }
  };
}

/** The content of a request besides its query: the rows of a write, or the input of a call by POST. */
export type Content =
  | { readonly kind: 'none' }
  | { readonly kind: 'rows'; readonly rows: WrittenBody }
  | { readonly kind: 'input'; readonly input: CallInput };

export const NO_CONTENT: Content = { kind: 'none' };

/**
 * Reads the content of a request. Returns a promise only if there is a body; it resolves to `undefined` when the
 * response has been sent or the client has gone. Rejects with a `DbrestFault`.
 */
export function readContent(x: Exchange, parsed: ParsedHead): Content | Promise<Content | undefined> {
  if (parsed.kind === 'write' && parsed.head.method !== 'DELETE') return readRows(x, parsed);
  if (parsed.kind === 'call' && parsed.input === undefined) return readInput(x, parsed);
  return NO_CONTENT;
}

async function readRows(x: Exchange, { head, query, nests }: ParsedWrite): Promise<Content | undefined> {
  const received = await receiveBody(x);
  if (!received) return undefined;
  const rows = await readWritten(received, { named: query.columns !== undefined, nests });
  if (head.method === 'PATCH' || !rows.isSeveral) return { kind: 'rows', rows };
  // Only a PATCH depends on the number of rows.
  return { kind: 'rows', rows: { ...rows, isSeveral: false } };
}

async function readInput(x: Exchange, { columns }: ParsedCall): Promise<Content | undefined> {
  const received = await receiveBody(x);
  return received && { kind: 'input', input: await parseCallBody(received, columns) };
}

const NO_ARGUMENTS: CallInput = { kind: 'texts', texts: new Map() };

/** A request with its content. */
export function requestWith(parsed: ParsedHead, content: Content): Request {
  switch (parsed.kind) {
    case 'write':
      return { ...parsed, body: content.kind === 'rows' ? content.rows : undefined };
    case 'call':
      return callWith(parsed, content.kind === 'input' ? content.input : (parsed.input ?? NO_ARGUMENTS));
    case 'read':
    case 'describe':
    case 'options':
      return parsed;
  }
}
