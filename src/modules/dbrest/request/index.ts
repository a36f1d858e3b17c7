import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives.ts';
import type { ServerFeatures } from '../schema/index.ts';
import { type CallRequest, parseCall } from './call.ts';
import { type DescribeRequest, type OptionsRequest, parseDescribe } from './describe.ts';
import { honouredHead, type RequestHead } from './head.ts';
import { parseRead, type ReadRequest } from './read.ts';
import { parseWrite, type WriteRequest } from './write.ts';

export { type CallInput, type CallRequest, parseCallBody } from './call.ts';
export type { DescribeRequest, OptionsRequest } from './describe.ts';
export { BINARY_OPERATORS, SEARCH_OPERATORS } from './filter.ts';
export {
  chooseSchema,
  compileHead,
  functionPath,
  needsFeatures,
  type RequestHead,
  type Resource,
  rowRange,
  type RowRange,
} from './head.ts';
export { scanJson } from './json-scan.ts';
export {
  acceptedMedia,
  chooseMedia,
  contentType,
  customMedia,
  isAsked,
  type Media,
  type RowHandler,
} from './media.ts';
export {
  appliedPreferences,
  type CountKind,
  honoured,
  NO_PREFERENCES,
  only,
  parsePreferences,
  type Preference,
  type Preferences,
} from './preferences.ts';
export { parametersOf, parseReadQuery } from './query.ts';
export type { ReadRequest } from './read.ts';
export {
  type Aggregate,
  type Field,
  type Filter,
  type JsonStep,
  type Level,
  type Logic,
  type Operand,
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
  readWritten,
  type WriteMethod,
  type WriteQuery,
  type WriteRequest,
  type WrittenBody,
} from './write.ts';

/** A parsed request. Its names have not been looked up yet. */
export type Request = ReadRequest | WriteRequest | CallRequest | DescribeRequest | OptionsRequest;

/**
 * Parses the query and the body of a request. `features` are present if the head needs them. Returns a promise if there is
 * a body, and `undefined` when the response has been sent or the client has gone. Throws or rejects with a `DbrestFault`.
 */
export function compileRequest(
  config: DbrestConfig,
): (
  x: Exchange,
  head: RequestHead,
  features: ServerFeatures | undefined,
) => Request | Promise<Request | undefined> {
  const mayChooseEnd = config.txEnd.endsWith('-allow-override');
  return (x, asked, features) => {
    const head = honouredHead(asked, features, mayChooseEnd);
    switch (head.kind) {
      case 'read':
        return parseRead(x, head, config);
      case 'write':
        return parseWrite(x, head);
      case 'call':
        return parseCall(x, head, config);
      case 'describe':
        return parseDescribe(x, head);
      case 'options':
        return { kind: 'options', head };
    }
  };
}
