import { answerFamilies, ofAnswer } from './answer.ts';
import { ofClock } from './clock.ts';
import { ofConnection } from './connection.ts';
import { ofProxyProtocol, proxyProtocolFamilies } from './proxy-protocol.ts';
import type { Families, Variables } from './reading.ts';
import { ofRequest, requestFamilies } from './request.ts';

/** nginx's core variables (nginx ngx_http_core_module#variables). */
export const variables: Variables = {
  ...ofRequest,
  ...ofConnection,
  ...ofProxyProtocol,
  ...ofAnswer,
  ...ofClock,
};

/** Variables whose names continue: `$arg_page`, `$http_user_agent`. */
export const families: Families = { ...requestFamilies, ...answerFamilies, ...proxyProtocolFamilies };
