import { directivesFor, readers } from '../../config/index.ts';
import { IGNORED_HEADERS, type PassingConfig, type ShownHeadersConfig } from '../config.ts';
import { buffers } from './readers.ts';

const { flag, size, text, value } = readers;
const HSL = ['http', 'server', 'location'] as const;
const source = 'nginx';

/** The rows about heads of responses, without the prefix of their protocol. */
export const shownHeadersRows = directivesFor<ShownHeadersConfig>()({
  hide_header: {
    contexts: HSL,
    args: text,
    into: 'hideHeaders',
    repeat: 'append',
    defaultText: 'X-Accel-*',
    summary: 'A header of the response that is not passed to the client.',
    source,
  },
  pass_header: {
    contexts: HSL,
    args: text,
    into: 'passHeaders',
    repeat: 'append',
    summary: 'A header of the response that is passed to the client although it is hidden by default.',
    source,
  },
  ignore_headers: {
    contexts: HSL,
    args: readers.someOf(IGNORED_HEADERS),
    into: 'ignoreHeaders',
    repeat: 'append',
    summary: 'Headers of the response that gw does not process.',
    source,
  },
  intercept_errors: {
    contexts: HSL,
    args: flag,
    into: 'interceptErrors',
    default: false,
    summary: 'Whether "error_page" applies to responses of the upstream.',
    source,
  },
});

/** The rows about passing on requests and responses, without the prefix of their protocol. */
export const passingRows = directivesFor<PassingConfig>()({
  pass_request_headers: {
    contexts: HSL,
    args: flag,
    into: 'passRequestHeaders',
    default: true,
    summary: "Whether the client's headers are sent to the upstream.",
    source,
  },
  pass_request_body: {
    contexts: HSL,
    args: flag,
    into: 'passRequestBody',
    default: true,
    summary: "Whether the client's body is sent to the upstream.",
    source,
  },
  request_buffering: {
    contexts: HSL,
    args: flag,
    into: 'requestBuffering',
    default: true,
    summary: 'Whether the whole request body is read before the request is sent to the upstream.',
    source,
  },
  ignore_client_abort: {
    contexts: HSL,
    args: flag,
    into: 'ignoreClientAbort',
    default: false,
    summary: 'Whether the request to the upstream goes on after the client has closed its connection.',
    source,
  },
  ...shownHeadersRows,
  limit_rate: {
    contexts: HSL,
    args: value,
    into: 'limitRate',
    defaultText: '0',
    summary: 'Bytes per second at which a response is read from the upstream; 0: no limit.',
    source,
  },
  buffering: {
    contexts: HSL,
    args: flag,
    into: 'buffering',
    default: true,
    summary: 'Whether gw reads ahead of the client, up to the size of the buffers.',
    source,
  },
  buffers: {
    contexts: HSL,
    args: buffers,
    into: 'buffers',
    default: { number: 8, sizeBytes: 4096 },
    defaultText: '8 4k',
    summary: 'How far gw reads ahead of the client.',
    source,
  },
  busy_buffers_size: {
    contexts: HSL,
    args: size,
    into: 'busyBuffersBytes',
    defaultText: 'twice the larger of the buffers for the head and for the body',
    summary: 'Only checked against the other buffer sizes; gw sends data as soon as it has it.',
    source,
  },
  max_temp_file_size: {
    contexts: HSL,
    args: size,
    into: 'maxTempFileBytes',
    default: 1_073_741_824,
    defaultText: '1024m',
    summary:
      'Only checked; responses are never written to disk: gw stops reading from the upstream while the client is slow.',
    source,
  },
});
