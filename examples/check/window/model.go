package main

import "github.com/farhash/farhash/statespace/check"

// room is how many messages are in a channel at most.
const room = 3

// channel delivers messages in order, but those that it loses.
type channel struct {
	Length  uint8       `bits:"2"`
	Message [room]uint8 `bits:"4"`
}

// state is a sender, a receiver and two channels between them. Messages are numbered from 0; what
// the sender sends is the message, and the receiver sees no more than the number modulo something.
type state struct {
	First  uint8 `bits:"4"` // that is not acknowledged
	Next   uint8 `bits:"4"` // that was not sent yet
	Wanted uint8 `bits:"4"` // that the receiver has not got yet
	Wrong  bool  // it has got another one
	Data   channel
	Acks   channel // of all messages before a number
}

// window is the protocol, which numbers messages modulo some number. That must be larger than the
// window.
func window(name string, size, modulo, messages uint8) check.Model[state] {
	return check.Model[state]{Name: name, Init: make([]state, 1), Deadlocks: true,
		Next: func(s state, emit func(string, state)) {
			send(s, size, modulo, messages, emit)
			receive(s, modulo, emit)
		},
		Properties: []check.Property[state]{
			check.Always("in order", func(s state) bool { return !s.Wrong }),
			check.Sometimes("all arrive", func(s state) bool { return s.First == messages }),
		}}
}

// send is what the sender does, and what the channel to it does.
func send(s state, size, modulo, messages uint8, emit func(string, state)) {
	if n := s; s.Next < min(s.First+size, messages) && n.Data.put(s.Next) {
		n.Next++
		emit("send", n)
	}
	if n := s; s.Next > s.First {
		n.Next = s.First
		emit("time out", n)
	}
	if n := s; s.Acks.Length > 0 {
		ack := n.Acks.get()
		emit("lose an acknowledgement", n)
		// It acknowledges as many messages, if they are not more than the window.
		if more := (ack + modulo - s.First%modulo) % modulo; more <= size {
			n.First += more
			n.Next = max(n.Next, n.First)
		}
		emit("receive an acknowledgement", n)
	}
}

// receive is what the receiver does, and what the channel to it does.
func receive(s state, modulo uint8, emit func(string, state)) {
	if s.Data.Length == 0 {
		return
	}
	n := s
	message := n.Data.get()
	emit("lose a message", n)
	if message%modulo == s.Wanted%modulo {
		n.Wrong = message != s.Wanted
		n.Wanted++
	}
	n.Acks.put(n.Wanted % modulo) // is lost if the channel is full
	emit("receive a message", n)
}

// put adds a message, if there is room.
func (c *channel) put(message uint8) bool {
	if c.Length == room {
		return false
	}
	c.Message[c.Length] = message
	c.Length++
	return true
}

// get removes the first message.
func (c *channel) get() uint8 {
	first := c.Message[0]
	copy(c.Message[:], c.Message[1:])
	c.Length--
	c.Message[c.Length] = 0
	return first
}
