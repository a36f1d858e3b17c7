import { resolve } from 'node:path';
import type { Word } from '../../../../grammar/index.ts';
import { type ArgReader, directivesFor, pathFrom, readers } from '../../../config/index.ts';
import type { CoreConfig, TempPath } from '../../../contract/index.ts';

const { flag, integer, oneOf, size, time } = readers;
const HS = ['http', 'server'] as const;
const HSL = ['http', 'server', 'location'] as const;

const headerBuffers: ArgReader<{ number: number; sizeBytes: number }> = readers.words(
  { syntax: 'number size', min: 2, max: 2 },
  (words, scope) => {
    const [count, sizeWord] = words as [Word, Word];
    const number = integer({ min: 1, max: 1024 }).read([count], scope);
    const sizeBytes = size.read([sizeWord], scope);
    return number === undefined || sizeBytes === undefined ? undefined : { number, sizeBytes };
  },
);

/** `path [level1 [level2 [level3]]]` (nginx ngx_conf_set_path_slot). */
const tempPath: ArgReader<TempPath> = readers.words(
  { syntax: 'path [level1 [level2 [level3]]]', min: 1, max: 4 },
  (words, { directive, report, prefix }) => {
    const [path, ...levelWords] = words as [Word, ...Word[]];
    const wrong = levelWords.find(({ value }) => !/^[1-9]$/.test(value));
    if (wrong) {
      report.emerg(`"${directive}" directive invalid value`, wrong.span, 'expected a number of digits');
      return undefined;
    }
    return { path: resolve(prefix, path.value), levels: levelWords.map(({ value }) => Number(value)) };
  },
);

/** Directives about reading the head and the body of a request. */
export const requests = directivesFor<CoreConfig>()({
  large_client_header_buffers: {
    contexts: HS,
    args: headerBuffers,
    into: 'largeHeaderBuffers',
    default: { number: 4, sizeBytes: 8192 },
    defaultText: '4 8k',
    summary: 'Maximum size of one line of the request head, and number of such buffers for the whole head.',
    source: 'nginx ngx_http_core_module#large_client_header_buffers',
  },
  client_header_buffer_size: {
    contexts: HS,
    args: size,
    into: 'headerBufferBytes',
    default: 1024,
    defaultText: '1k',
    summary: 'A line of the request head may also have this size, if the large buffers are smaller.',
    source: 'nginx ngx_http_core_module#client_header_buffer_size',
  },
  client_header_timeout: {
    contexts: HS,
    args: time,
    into: 'headerTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Timeout for reading the head of a request; the uWebSockets.js engine always uses 10 s.',
    source: 'nginx ngx_http_core_module#client_header_timeout',
  },
  underscores_in_headers: {
    contexts: HS,
    args: flag,
    into: 'underscoresInHeaders',
    default: false,
    summary: 'Accepts request headers with an underscore in their name; otherwise they are dropped.',
    source: 'nginx ngx_http_core_module#underscores_in_headers',
  },
  ignore_invalid_headers: {
    contexts: HS,
    args: flag,
    into: 'ignoreInvalidHeaders',
    default: true,
    summary: 'Drops request headers whose name contains other characters than letters, digits and hyphens.',
    source: 'nginx ngx_http_core_module#ignore_invalid_headers',
  },
  max_headers: {
    contexts: HS,
    args: integer({ min: 1 }),
    into: 'maxHeaders',
    default: 1000,
    summary:
      'Maximum number of request headers; with more, the response is 400 (494). uWebSockets.js accepts at most 98 (431).',
    source: 'nginx ngx_http_core_module#max_headers',
  },
  client_max_body_size: {
    contexts: HSL,
    args: size,
    into: 'maxBodyBytes',
    default: 1_048_576,
    defaultText: '1m',
    summary:
      'Maximum size of a request body; beyond it the response is 413. 0 means no limit, but a body that is needed in one piece may have at most 1g.',
    source: 'nginx ngx_http_core_module#client_max_body_size',
  },
  client_body_timeout: {
    contexts: HSL,
    args: time,
    into: 'bodyTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Timeout between two reads of a request body; the uWebSockets.js engine always uses 10 s.',
    source: 'nginx ngx_http_core_module#client_body_timeout',
  },
  client_body_buffer_size: {
    contexts: HSL,
    args: size,
    into: 'bodyBufferBytes',
    default: 16_384,
    defaultText: '16k',
    summary: 'A body that is kept for an upstream is held in memory up to this size, and in a file beyond.',
    source: 'nginx ngx_http_core_module#client_body_buffer_size',
  },
  client_body_temp_path: {
    contexts: HSL,
    args: tempPath,
    into: 'bodyTempPath',
    defaultText: "the system's directory for temporary files",
    summary:
      'Directory for the files of request bodies, relative to the prefix, and its levels of subdirectories.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_http_core_module#client_body_temp_path',
  },
  client_body_in_file_only: {
    contexts: HSL,
    args: oneOf('on', 'clean', 'off'),
    into: 'bodyInFileOnly',
    default: 'off',
    summary:
      'Writes every body that is kept for an upstream to a file, whose name is $request_body_file; on does not remove the file.',
    source: 'nginx ngx_http_core_module#client_body_in_file_only',
  },
  uninitialized_variable_warn: {
    contexts: ['http', 'server', 'location', 'server if', 'location if'],
    args: flag,
    into: 'uninitializedVariableWarn',
    default: true,
    summary: 'Logs a warning when a variable is read that "set" has not set yet.',
    source: 'nginx ngx_http_rewrite_module#uninitialized_variable_warn',
  },
});
