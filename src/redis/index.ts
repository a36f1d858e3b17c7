export {
  AddressFault,
  DEFAULT_PORT,
  type Endpoint,
  endpointsOf,
  type EndpointTls,
  type Login,
  parseRedisAddress,
  parseServerList,
  type RedisAddress,
  redisLabel,
} from './address.ts';
export { type ConnectionOwner, RedisConnection, type Request } from './redis-connection.ts';
export { type Bytes, type FlatReply, type Push, type Reply, ReplyError, replyTooLarge } from './resp.ts';
