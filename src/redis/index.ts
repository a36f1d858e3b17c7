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
export { RedisClient, RedisLost, RedisRefused, type Reply } from './redis-client.ts';
export { type Bytes, type FlatReply, type Push, ReplyError, replyTooLarge } from './resp.ts';
