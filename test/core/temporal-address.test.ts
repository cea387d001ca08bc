import { expect, test } from "vitest";
import { addressProblem } from "../../src/core/temporal-address.js";

test.each([
  "127.0.0.1:7233",
  "localhost",
  "temporal.example:1",
  "my_host-1:65535",
  "[::1]:7233",
  "[2001:db8::1]",
  "[::ffff:192.0.2.128]:8080",
  "x:07233",
])("%s can be asked", (address) => {
  expect(addressProblem(address)).toBeUndefined();
});

test.each([
  ["host:99999", "its port"],
  ["[::1]:99999", "its port"],
  ["host:0", "its port"],
  ["host:", "its port"],
  ["host:abc", "its port"],
  ["host:-1", "its port"],
  ["host:7233/x", "its port"],
  ["host:1,other:2", "its port"],
  [`host:${"9".repeat(400)}`, "its port"],
  ["http://host:7233", "http://"],
  ["dns:///host", "http://"],
  ["::1", "brackets"],
  ["::1:7233", "brackets"],
  ["2001:db8::1", "brackets"],
  [":7233", "must be a host and a port"],
  ["a b:7233", "must be a host and a port"],
  ["host/x", "must be a host and a port"],
  ["me:sk-secret@host:7233", "its port"],
  ["me@host:7233", "must be a host and a port"],
  ["[host]:7233", "must be a host and a port"],
  ["", "must be a host and a port"],
])("%s is refused with what it lacks", (address, problem) => {
  expect(addressProblem(address)).toContain(problem);
  expect(addressProblem(address)).toContain("such as 127.0.0.1:7233");
});
