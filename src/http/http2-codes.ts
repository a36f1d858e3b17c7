/**
 * The error codes of HTTP/2 by their names (RFC 9113, 7). Node has them as well, but reading one there evaluates its whole
 * implementation of HTTP/2, which most processes never use.
 */
export const HTTP2_CODES = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
  HTTP_1_1_REQUIRED: 13,
} as const;

/** The flag of a frame after which the stream has no more (RFC 9113, 6.1). */
export const END_STREAM = 1;
