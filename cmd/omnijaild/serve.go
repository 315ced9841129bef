package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/server"
)

// serve runs the daemon until a signal ends it.
func serve(args []string) error {
	o, err := parseOptions("omnijaild", args)
	if err != nil {
		return err
	}
	log, err := o.logger(os.Stderr)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("it must be root: sudo systemctl start omnijaild, or sudo omnijaild for a try")
	}
	set, err := o.load()
	if err != nil {
		return err
	}
	h, err := openHouse(set, log)
	if err != nil {
		return err
	}
	defer h.close()
	listener, err := listen(set)
	if err != nil {
		return err
	}
	return h.run(o, listener, log)
}

// listen takes the socket from systemd, or makes it.
func listen(set *config.Config) (net.Listener, error) {
	given, err := activation.Listeners()
	if err != nil {
		return nil, err
	}
	switch len(given) {
	case 0:
	case 1:
		return given[0], nil
	default:
		return nil, fmt.Errorf("systemd passed %d sockets instead of one", len(given))
	}
	gid, err := groupID(set.Group)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(set.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := syscall.Umask(0o177) // never open to others, not even for a moment
	l, err := net.Listen("unix", set.Socket)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chown(set.Socket, 0, gid), os.Chmod(set.Socket, 0o660)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// run serves until SIGTERM or SIGINT; SIGHUP reloads.
func (h *house) run(o *options, l net.Listener, log *slog.Logger) error {
	srv := server.New(server.Config{Manager: h.manager, Settings: h.settings.Load, Names: names(), Self: h.self, Log: log})
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	stopMetrics, err := h.serveMetrics(log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	sd.SdNotify(false, sd.SdNotifyReady)
	log.Info("ready", "socket", l.Addr().String())
	for {
		select {
		case err := <-failed:
			return err
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				h.reload(o, log)
				continue
			}
			sd.SdNotify(false, sd.SdNotifyStopping)
			log.Info("stopping", "signal", sig.String())
			if d := time.Duration(h.settings.Load().Drain); d > 0 {
				h.manager.Drain(context.Background(), d)
			}
			h.manager.Close()
			return srv.Close()
		}
	}
}

// reload reads the configuration again, all or nothing, and holds every live
// jail against it.
func (h *house) reload(o *options, log *slog.Logger) {
	sd.SdNotify(false, sd.SdNotifyReloading+"\n"+monotonic())
	defer sd.SdNotify(false, sd.SdNotifyReady)
	set, err := o.load()
	if err == nil {
		err = unchangeable(h.settings.Load(), set)
	}
	if err != nil {
		log.Error("reload: the old configuration stays in force", "err", err)
		return
	}
	h.settings.Store(set)
	ended := h.manager.Revoke(server.Still(set, names()))
	log.Info("reloaded", "ended", ended)
}

// monotonic is what systemd wants with RELOADING=1.
func monotonic() string {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return fmt.Sprintf("MONOTONIC_USEC=%d", ts.Nano()/1000)
}

// serveMetrics serves the counters on a socket of root's.
func (h *house) serveMetrics(log *slog.Logger) (stop func(), err error) {
	path := h.settings.Load().Metrics.Socket
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("metrics socket: %w", err)
	}
	srv := &http.Server{
		Handler:           promhttp.HandlerFor(h.manager.Metrics(), promhttp.HandlerOpts{}),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go srv.Serve(l)
	return func() { srv.Close() }, nil
}
