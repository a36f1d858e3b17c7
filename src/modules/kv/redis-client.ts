// The parts of ioredis that a connection is made of, in a module of their own: workers load it where a location needs it.
export { Command, Redis } from 'ioredis';
